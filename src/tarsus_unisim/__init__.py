"""Tarsus as a physics backend of `unisim-core`, the interface of UniLab; extra `unisim`."""

from tarsus.installation import missing_package_error

try:
    import unisim as unisim
except ImportError:
    raise missing_package_error("unisim-core", "this", "unisim") from None
