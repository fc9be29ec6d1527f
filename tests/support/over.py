"""Over: runs one test for all values, where `parametrize` would make a test of each."""

import functools
import inspect


def over(names, values):
    """Run the test once for each of `values`, in one case; `names` as in `parametrize`.

    A failure says with which values.
    """
    given = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]

    def decorated(test):
        signature = inspect.signature(test)
        missing = set(given) - set(signature.parameters)
        assert not missing, f"{test.__name__} does not take {missing}"

        @functools.wraps(test)
        def run(**fixtures):
            for value in values:
                chosen = dict(zip(given, value if len(given) > 1 else [value], strict=True))
                try:
                    test(**fixtures, **chosen)
                except BaseException as error:
                    note = f"with {chosen!s:.300}"
                    error.__notes__ = [*getattr(error, "__notes__", []), note]
                    raise

        kept = [each for name, each in signature.parameters.items() if name not in given]
        run.__signature__ = signature.replace(parameters=kept)
        return run

    return decorated
