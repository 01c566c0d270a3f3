"""Parameters of a test that it goes through by itself: one test, which lists all that fail, in place of one test for each of thousands of cases."""

import functools
import inspect


def looping(names, values):
    """Return a decorator with the arguments of ``pytest.mark.parametrize`` (names as one text or a tuple); fixtures are those of the whole loop."""

    def decorator(test):
        own = (names,) if isinstance(names, str) else names
        signature = inspect.signature(test)
        cases = [(value,) if isinstance(names, str) else tuple(value) for value in values]
        assert cases, f"{names}: there are no values"
        assert set(own) <= set(signature.parameters), f"{names}: are no arguments of {test.__name__}"

        @functools.wraps(test)
        def loop(**arguments):
            failed = []
            for case in cases:
                try:
                    test(**arguments, **dict(zip(own, case, strict=True)))
                except Exception as error:  # an assertion, or whatever else goes wrong
                    failed.append(f"{', '.join(own)} = {', '.join(map(repr, case))}: {type(error).__name__}: {error}")
            assert not failed, "\n".join(failed)

        loop.__signature__ = signature.replace(parameters=[each for name, each in signature.parameters.items() if name not in own])
        return loop

    return decorator
