"""Any PyG model with learned operators: one adapter per kind of layer, outputs unchanged."""

from pgso.conversion.convert import ConversionWarning as ConversionWarning
from pgso.conversion.convert import convert as convert
from pgso.conversion.layer import Converted as Converted
from pgso.conversion.layer import Reading as Reading
from pgso.conversion.layer import converts as converts
from pgso.conversion.layer import one_set as one_set
from pgso.conversion.layer import two_sets as two_sets
