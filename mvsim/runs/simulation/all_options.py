"""All options of a run: those that every run has, and what integrators and methods take besides, as their constructors describe it.

The signature and the documentation of `mvsim.simulate` and the flags of ``mvsim simulate`` follow from `AllRunOptions`.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, SkipValidation, create_model
from pydantic.fields import FieldInfo

from mvsim.base.options import fields_of
from mvsim.flow import INTEGRATORS
from mvsim.multi_view.objectives import OBJECTIVES
from mvsim.runs.simulation.options import RunOptions


def added_options() -> dict[str, Any]:
    """Return type and field of every option of an integrator or a method; of one name there is one option, whoever takes it.

    The values are not checked here: the owner of an option does that.
    """
    described = [(integrator.letter, integrator.name, fields_of(integrator)[integrator.option]) for integrator in INTEGRATORS.values()]
    described += [(name, method.name, field) for method in OBJECTIVES.values() for name, field in fields_of(method).items()]
    fields: dict[str, FieldInfo] = {}
    owners: dict[str, dict[str | None, list[str]]] = {}
    for name, owner, field in described:
        if name in RunOptions.model_fields:  # as the seed: that of the run is handed on
            continue
        first = fields.setdefault(name, field)
        if (first.annotation, first.default) != (field.annotation, field.default):
            raise TypeError(f"{name}: is an option of {owner} and of others, which must have the same type and the same default")
        owners.setdefault(name, {}).setdefault(field.description, []).append(owner)
    return {
        name: (
            Annotated[(field.annotation, *field.metadata, SkipValidation)],
            Field(field.default, description="; ".join(f"{', '.join(names)}: {meaning}" for meaning, names in owners[name].items()) + "."),
        )
        for name, field in fields.items()
    }


AllRunOptions = create_model("AllRunOptions", __base__=RunOptions, __module__=__name__, __doc__=RunOptions.__doc__, **added_options())
"""The options of a run, with those of every integrator and every method; validated, and frozen."""

DEFAULTS = AllRunOptions()
