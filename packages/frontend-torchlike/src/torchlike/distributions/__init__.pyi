"""Probability distributions (source: ``torch.distributions``), in modules named as torch's.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""


from torchlike_distributions.discrete.bernoulli import Bernoulli as Bernoulli
from torchlike_distributions.discrete import bernoulli as bernoulli
from torchlike_distributions.multivariate.beta import Beta as Beta
from torchlike_distributions.multivariate import beta as beta
from torchlike_distributions.discrete.binomial import Binomial as Binomial
from torchlike_distributions.discrete import binomial as binomial
from torchlike_distributions.discrete.categorical import Categorical as Categorical
from torchlike_distributions.discrete import categorical as categorical
from torchlike_distributions.continuous.cauchy import Cauchy as Cauchy
from torchlike_distributions.continuous import cauchy as cauchy
from torchlike_distributions.continuous.chi2 import Chi2 as Chi2
from torchlike_distributions.continuous import chi2 as chi2
from torchlike_distributions.constraint_registry import biject_to as biject_to
from torchlike_distributions.constraint_registry import transform_to as transform_to
from torchlike_distributions import constraint_registry as constraint_registry
from torchlike_distributions import constraints as constraints
from torchlike_distributions.discrete.continuous_bernoulli import ContinuousBernoulli as ContinuousBernoulli
from torchlike_distributions.discrete import continuous_bernoulli as continuous_bernoulli
from torchlike_distributions.multivariate.dirichlet import Dirichlet as Dirichlet
from torchlike_distributions.multivariate import dirichlet as dirichlet
from torchlike_distributions.distribution import Distribution as Distribution
from torchlike_distributions.distribution import ExponentialFamily as ExponentialFamily
from torchlike_distributions import distribution as distribution
from torchlike_distributions.continuous.exponential import Exponential as Exponential
from torchlike_distributions.continuous import exponential as exponential
from torchlike_distributions.continuous.fishersnedecor import FisherSnedecor as FisherSnedecor
from torchlike_distributions.continuous import fishersnedecor as fishersnedecor
from torchlike_distributions.continuous.gamma import Gamma as Gamma
from torchlike_distributions.continuous import gamma as gamma
from torchlike_distributions.continuous.generalized_pareto import GeneralizedPareto as GeneralizedPareto
from torchlike_distributions.continuous import generalized_pareto as generalized_pareto
from torchlike_distributions.discrete.geometric import Geometric as Geometric
from torchlike_distributions.discrete import geometric as geometric
from torchlike_distributions.continuous.gumbel import Gumbel as Gumbel
from torchlike_distributions.continuous import gumbel as gumbel
from torchlike_distributions.continuous.half_cauchy import HalfCauchy as HalfCauchy
from torchlike_distributions.continuous import half_cauchy as half_cauchy
from torchlike_distributions.continuous.half_normal import HalfNormal as HalfNormal
from torchlike_distributions.continuous import half_normal as half_normal
from torchlike_distributions.independent import Independent as Independent
from torchlike_distributions import independent as independent
from torchlike_distributions.continuous.inverse_gamma import InverseGamma as InverseGamma
from torchlike_distributions.continuous import inverse_gamma as inverse_gamma
from torchlike_distributions.kl import kl_divergence as kl_divergence
from torchlike_distributions.kl import register_kl as register_kl
from torchlike_distributions import kl as kl
from torchlike_distributions.continuous.kumaraswamy import Kumaraswamy as Kumaraswamy
from torchlike_distributions.continuous import kumaraswamy as kumaraswamy
from torchlike_distributions.continuous.laplace import Laplace as Laplace
from torchlike_distributions.continuous import laplace as laplace
from torchlike_distributions.multivariate.lkj_cholesky import LKJCholesky as LKJCholesky
from torchlike_distributions.multivariate import lkj_cholesky as lkj_cholesky
from torchlike_distributions.continuous.log_normal import LogNormal as LogNormal
from torchlike_distributions.continuous import log_normal as log_normal
from torchlike_distributions.multivariate.logistic_normal import LogisticNormal as LogisticNormal
from torchlike_distributions.multivariate import logistic_normal as logistic_normal
from torchlike_distributions.multivariate.lowrank_multivariate_normal import LowRankMultivariateNormal as LowRankMultivariateNormal
from torchlike_distributions.multivariate import lowrank_multivariate_normal as lowrank_multivariate_normal
from torchlike_distributions.mixture_same_family import MixtureSameFamily as MixtureSameFamily
from torchlike_distributions import mixture_same_family as mixture_same_family
from torchlike_distributions.discrete.multinomial import Multinomial as Multinomial
from torchlike_distributions.discrete import multinomial as multinomial
from torchlike_distributions.multivariate.multivariate_normal import MultivariateNormal as MultivariateNormal
from torchlike_distributions.multivariate import multivariate_normal as multivariate_normal
from torchlike_distributions.discrete.negative_binomial import NegativeBinomial as NegativeBinomial
from torchlike_distributions.discrete import negative_binomial as negative_binomial
from torchlike_distributions.continuous.normal import Normal as Normal
from torchlike_distributions.continuous import normal as normal
from torchlike_distributions.discrete.one_hot_categorical import OneHotCategorical as OneHotCategorical
from torchlike_distributions.discrete.one_hot_categorical import OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough
from torchlike_distributions.discrete import one_hot_categorical as one_hot_categorical
from torchlike_distributions.continuous.pareto import Pareto as Pareto
from torchlike_distributions.continuous import pareto as pareto
from torchlike_distributions.discrete.poisson import Poisson as Poisson
from torchlike_distributions.discrete import poisson as poisson
from torchlike_distributions.discrete.relaxed_bernoulli import LogitRelaxedBernoulli as LogitRelaxedBernoulli
from torchlike_distributions.discrete.relaxed_bernoulli import RelaxedBernoulli as RelaxedBernoulli
from torchlike_distributions.discrete import relaxed_bernoulli as relaxed_bernoulli
from torchlike_distributions.discrete.relaxed_categorical import ExpRelaxedCategorical as ExpRelaxedCategorical
from torchlike_distributions.discrete.relaxed_categorical import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from torchlike_distributions.discrete import relaxed_categorical as relaxed_categorical
from torchlike_distributions.continuous.studentT import StudentT as StudentT
from torchlike_distributions.continuous import studentT as studentT
from torchlike_distributions.transformed_distribution import TransformedDistribution as TransformedDistribution
from torchlike_distributions import transformed_distribution as transformed_distribution
from torchlike_distributions.transforms import AbsTransform as AbsTransform
from torchlike_distributions.transforms import AffineTransform as AffineTransform
from torchlike_distributions.transforms import CatTransform as CatTransform
from torchlike_distributions.transforms import ComposeTransform as ComposeTransform
from torchlike_distributions.transforms import CorrCholeskyTransform as CorrCholeskyTransform
from torchlike_distributions.transforms import CumulativeDistributionTransform as CumulativeDistributionTransform
from torchlike_distributions.transforms import ExpTransform as ExpTransform
from torchlike_distributions.transforms import IndependentTransform as IndependentTransform
from torchlike_distributions.transforms import LowerCholeskyTransform as LowerCholeskyTransform
from torchlike_distributions.transforms import PositiveDefiniteTransform as PositiveDefiniteTransform
from torchlike_distributions.transforms import PowerTransform as PowerTransform
from torchlike_distributions.transforms import ReshapeTransform as ReshapeTransform
from torchlike_distributions.transforms import SigmoidTransform as SigmoidTransform
from torchlike_distributions.transforms import SoftmaxTransform as SoftmaxTransform
from torchlike_distributions.transforms import SoftplusTransform as SoftplusTransform
from torchlike_distributions.transforms import StackTransform as StackTransform
from torchlike_distributions.transforms import StickBreakingTransform as StickBreakingTransform
from torchlike_distributions.transforms import TanhTransform as TanhTransform
from torchlike_distributions.transforms import Transform as Transform
from torchlike_distributions.transforms import identity_transform as identity_transform
from torchlike_distributions import transforms as transforms
from torchlike_distributions.continuous.uniform import Uniform as Uniform
from torchlike_distributions.continuous import uniform as uniform
from torchlike_distributions import utils as utils
from torchlike_distributions.continuous.von_mises import VonMises as VonMises
from torchlike_distributions.continuous import von_mises as von_mises
from torchlike_distributions.continuous.weibull import Weibull as Weibull
from torchlike_distributions.continuous import weibull as weibull
from torchlike_distributions.multivariate.wishart import Wishart as Wishart
from torchlike_distributions.multivariate import wishart as wishart
__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpRelaxedCategorical",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LogitRelaxedBernoulli",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
]
