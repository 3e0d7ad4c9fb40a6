"""Probability distributions (source: ``torch.distributions``), in modules named as torch's.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""


from .bernoulli import Bernoulli as Bernoulli
from . import bernoulli as bernoulli
from .beta import Beta as Beta
from . import beta as beta
from .binomial import Binomial as Binomial
from . import binomial as binomial
from .categorical import Categorical as Categorical
from . import categorical as categorical
from .cauchy import Cauchy as Cauchy
from . import cauchy as cauchy
from .chi2 import Chi2 as Chi2
from . import chi2 as chi2
from .constraint_registry import biject_to as biject_to
from .constraint_registry import transform_to as transform_to
from . import constraint_registry as constraint_registry
from . import constraints as constraints
from .continuous_bernoulli import ContinuousBernoulli as ContinuousBernoulli
from . import continuous_bernoulli as continuous_bernoulli
from .dirichlet import Dirichlet as Dirichlet
from . import dirichlet as dirichlet
from .distribution import Distribution as Distribution
from .distribution import ExponentialFamily as ExponentialFamily
from . import distribution as distribution
from .exponential import Exponential as Exponential
from . import exponential as exponential
from .fishersnedecor import FisherSnedecor as FisherSnedecor
from . import fishersnedecor as fishersnedecor
from .gamma import Gamma as Gamma
from . import gamma as gamma
from .generalized_pareto import GeneralizedPareto as GeneralizedPareto
from . import generalized_pareto as generalized_pareto
from .geometric import Geometric as Geometric
from . import geometric as geometric
from .gumbel import Gumbel as Gumbel
from . import gumbel as gumbel
from .half_cauchy import HalfCauchy as HalfCauchy
from . import half_cauchy as half_cauchy
from .half_normal import HalfNormal as HalfNormal
from . import half_normal as half_normal
from .independent import Independent as Independent
from . import independent as independent
from .inverse_gamma import InverseGamma as InverseGamma
from . import inverse_gamma as inverse_gamma
from .kl import kl_divergence as kl_divergence
from .kl import register_kl as register_kl
from . import kl as kl
from .kumaraswamy import Kumaraswamy as Kumaraswamy
from . import kumaraswamy as kumaraswamy
from .laplace import Laplace as Laplace
from . import laplace as laplace
from .lkj_cholesky import LKJCholesky as LKJCholesky
from . import lkj_cholesky as lkj_cholesky
from .log_normal import LogNormal as LogNormal
from . import log_normal as log_normal
from .logistic_normal import LogisticNormal as LogisticNormal
from . import logistic_normal as logistic_normal
from .lowrank_multivariate_normal import LowRankMultivariateNormal as LowRankMultivariateNormal
from . import lowrank_multivariate_normal as lowrank_multivariate_normal
from .mixture_same_family import MixtureSameFamily as MixtureSameFamily
from . import mixture_same_family as mixture_same_family
from .multinomial import Multinomial as Multinomial
from . import multinomial as multinomial
from .multivariate_normal import MultivariateNormal as MultivariateNormal
from . import multivariate_normal as multivariate_normal
from .negative_binomial import NegativeBinomial as NegativeBinomial
from . import negative_binomial as negative_binomial
from .normal import Normal as Normal
from . import normal as normal
from .one_hot_categorical import OneHotCategorical as OneHotCategorical
from .one_hot_categorical import OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough
from . import one_hot_categorical as one_hot_categorical
from .pareto import Pareto as Pareto
from . import pareto as pareto
from .poisson import Poisson as Poisson
from . import poisson as poisson
from .relaxed_bernoulli import LogitRelaxedBernoulli as LogitRelaxedBernoulli
from .relaxed_bernoulli import RelaxedBernoulli as RelaxedBernoulli
from . import relaxed_bernoulli as relaxed_bernoulli
from .relaxed_categorical import ExpRelaxedCategorical as ExpRelaxedCategorical
from .relaxed_categorical import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from . import relaxed_categorical as relaxed_categorical
from .studentT import StudentT as StudentT
from . import studentT as studentT
from .transformed_distribution import TransformedDistribution as TransformedDistribution
from . import transformed_distribution as transformed_distribution
from .transforms import AbsTransform as AbsTransform
from .transforms import AffineTransform as AffineTransform
from .transforms import CatTransform as CatTransform
from .transforms import ComposeTransform as ComposeTransform
from .transforms import CorrCholeskyTransform as CorrCholeskyTransform
from .transforms import CumulativeDistributionTransform as CumulativeDistributionTransform
from .transforms import ExpTransform as ExpTransform
from .transforms import IndependentTransform as IndependentTransform
from .transforms import LowerCholeskyTransform as LowerCholeskyTransform
from .transforms import PositiveDefiniteTransform as PositiveDefiniteTransform
from .transforms import PowerTransform as PowerTransform
from .transforms import ReshapeTransform as ReshapeTransform
from .transforms import SigmoidTransform as SigmoidTransform
from .transforms import SoftmaxTransform as SoftmaxTransform
from .transforms import SoftplusTransform as SoftplusTransform
from .transforms import StackTransform as StackTransform
from .transforms import StickBreakingTransform as StickBreakingTransform
from .transforms import TanhTransform as TanhTransform
from .transforms import Transform as Transform
from .transforms import identity_transform as identity_transform
from . import transforms as transforms
from .uniform import Uniform as Uniform
from . import uniform as uniform
from . import utils as utils
from .von_mises import VonMises as VonMises
from . import von_mises as von_mises
from .weibull import Weibull as Weibull
from . import weibull as weibull
from .wishart import Wishart as Wishart
from . import wishart as wishart
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
