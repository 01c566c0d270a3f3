"""An example of every activation: a new one is registered in ACTIVATIONS, and is tested."""

from dataclasses import fields

from mvsim.multi_view.activations import ACTIVATIONS

RHO = 0.4
FIELDS = {"rho": RHO}
"""A value for every field that an activation may have, besides the power alpha."""


def takes_power(kind):
    """Whether an activation has a field alpha, of which tests choose the value."""
    return "alpha" in (field.name for field in fields(kind))


def example(name, alpha, table=ACTIVATIONS):
    """Return the activation of that name in a table, with the power alpha if it takes one."""
    kind = table[name]
    values = {**FIELDS, "alpha": alpha}
    unknown = [field.name for field in fields(kind) if field.name not in values]
    assert not unknown, f"{kind.__name__} has the fields {', '.join(unknown)}: give each an example value in FIELDS of tests/activation_examples.py"
    return kind(**{field.name: values[field.name] for field in fields(kind)})
