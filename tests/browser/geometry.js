// Faults of a page that a reader would see, by the boxes that the browser has made: a list of sentences.
(options) => {
  const faults = [];
  const root = document.documentElement;
  const width = root.clientWidth;
  const name = (text) => JSON.stringify(text.trim().replace(/\s+/g, " ").slice(0, 60));
  const overflows = new Map();
  const overflow = (element) => {
    if (!overflows.has(element)) overflows.set(element, getComputedStyle(element).overflowX);
    return overflows.get(element);
  };
  const scrolls = (element) => ["auto", "scroll"].includes(overflow(element));
  const isShortened = (element) => clips(element) && getComputedStyle(element).textOverflow === "ellipsis";
  const clips = (element) => ["hidden", "clip"].includes(overflow(element));
  // Headings that stay at their place have an opaque ground: text that scrolls below them is hidden by it.
  const stuck = new Map();
  const stuckIn = (element) => {
    if (!element || element === root) return null;
    if (!stuck.has(element)) {
      const isStuck = ["sticky", "fixed"].includes(getComputedStyle(element).position);
      stuck.set(element, isStuck ? element : stuckIn(element.parentElement));
    }
    return stuck.get(element);
  };
  const isBlock = (element) => !getComputedStyle(element).display.startsWith("inline") || element.tagName === "BUTTON";

  if (document.body && !options.within && root.scrollWidth > width + 1) faults.push(`the page is ${root.scrollWidth} px wide in a window of ${width}`);

  // Every line of text, as far as scrolling containers show it.
  const lines = [];
  const walker = document.createTreeWalker(document.body ?? root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest("script, style, noscript, title, template, textarea, select, option")) continue;
    if (!parent.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true })) continue;
    // Words for screen readers are moved out of sight on purpose, and so are menus that are folded away.
    if (parent.closest("[aria-hidden=true], .md-skip, [hidden]")) continue;
    if (options.within && !parent.closest(options.within)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      if (rect.width < 1 || rect.height < 1) continue;
      let [left, top, right, bottom] = [rect.left, rect.top, rect.right, rect.bottom];
      let inScroller = false;
      let block = null;
      let cut = false;
      for (let each = parent; each && each !== root && each !== document.body; each = each.parentElement) {
        const box = each.getBoundingClientRect();
        if (isShortened(each)) {
          block ??= each;
          [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
          continue;
        }
        if (!block && each.namespaceURI.endsWith("xhtml") && isBlock(each)) {
          block = each;
          if (!inScroller && !scrolls(each) && (right > box.right + 1.5 || left < box.left - 1.5))
            faults.push(`${name(node.data)} spills out of its <${each.tagName.toLowerCase()}>`);
        }
        if (scrolls(each)) {
          inScroller = true;
          [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
          if (["auto", "scroll"].includes(getComputedStyle(each).overflowY))
            [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
        } else if (clips(each) && !inScroller) {
          const outside = right <= box.left || left >= box.right || bottom <= box.top || top >= box.bottom;
          if (outside) [right, bottom] = [left, top];
          else if (right > box.right + 1.5 || left < box.left - 1.5) cut = true;
        }
      }
      if (right - left < 1 || bottom - top < 1) continue;
      if (right <= 0 || left >= root.scrollWidth) continue; // a menu beside the page
      if (cut) faults.push(`${name(node.data)} is cut off`);
      if (document.body && !inScroller && (left < -1 || right > width + 1)) faults.push(`${name(node.data)} leaves the window`);
      lines.push({ node, left, top, right, bottom, stuck: stuckIn(parent) });
    }
  }

  // A line may touch its neighbours; a quarter of its height must be free of others.
  lines.sort((a, b) => a.top - b.top);
  lines.forEach((a, index) => {
    for (let next = index + 1; next < lines.length && lines[next].top < a.bottom; next++) {
      const b = lines[next];
      if (a.node === b.node || a.stuck !== b.stuck) continue;
      const down = Math.min(a.bottom, b.bottom) - b.top;
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      if (across > 1.5 && down > 0.3 * Math.min(a.bottom - a.top, b.bottom - b.top))
        faults.push(`${name(a.node.data)} and ${name(b.node.data)} overlap`);
    }
  });

  // Text of a picture lies in its box: that of its group, or else the smallest around its middle.
  for (const svg of document.querySelectorAll("svg[role=img]")) {
    if (!svg.checkVisibility()) continue;
    const size = (box) => box.width * box.height;
    const boxes = [svg, ...svg.querySelectorAll("rect")].map((each) => each.getBoundingClientRect()).sort((a, b) => size(a) - size(b));
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
      const own = [...text.parentElement.children].find((each) => each.tagName === "rect" && !each.hasAttribute("x") && text.parentElement !== svg);
      const limit = own ? own.getBoundingClientRect() : boxes.find((each) => each.left <= x && x <= each.right && each.top <= y && y <= each.bottom);
      if (!limit || box.left < limit.left - 1 || box.right > limit.right + 1 || box.top < limit.top - 1 || box.bottom > limit.bottom + 1)
        faults.push(`${name(text.textContent)} spills out of its box in a picture`);
    }
  }

  // Text stands out from what is behind it: the ratio that WCAG asks of small text.
  if (options.contrast) {
    const parse = (color) => {
      const parts = color.match(/[\d.]+/g).map(Number);
      return parts.length === 3 ? [...parts, 1] : parts;
    };
    const over = (top, below) => below.slice(0, 3).map((each, i) => top[i] * top[3] + each * (1 - top[3])).concat(1);
    const light = (color) => {
      const [r, g, b] = color.slice(0, 3).map((each) => {
        const value = each / 255;
        return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const canvas = matchMedia("(prefers-color-scheme: dark)").matches && options.darkCanvas ? [18, 18, 18, 1] : [255, 255, 255, 1];
    const seen = new Set();
    for (const { node } of lines) {
      const parent = node.parentElement;
      if (seen.has(parent) || parent.closest("svg") || !parent.closest(".dispatch-view")) continue;
      seen.add(parent);
      const chain = [];
      for (let each = parent; each; each = each.parentElement) chain.unshift(each);
      let behind = canvas;
      let opacity = 1;
      for (const each of chain) {
        const style = getComputedStyle(each);
        behind = over(parse(style.backgroundColor), behind);
        opacity *= Number(style.opacity);
      }
      const ink = parse(getComputedStyle(parent).color);
      const shown = over([...ink.slice(0, 3), ink[3] * opacity], behind);
      const [a, b] = [light(shown), light(behind)];
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < 4.5) faults.push(`${name(node.data)} is hard to read: contrast ${ratio.toFixed(2)}`);
    }
  }
  return [...new Set(faults)];
}
