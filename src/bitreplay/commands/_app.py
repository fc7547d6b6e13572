"""The commands as one application: their options come from signatures and docstrings.

A new command is a function in `COMMANDS`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from cyclopts.config import Yaml
from cyclopts.validators import Path as PathCheck

from bitreplay import __version__
from bitreplay.commands._cache import cache
from bitreplay.commands._compare import compare
from bitreplay.commands._data import data
from bitreplay.commands._demo import demo
from bitreplay.commands._evaluate import evaluate
from bitreplay.commands._export import export
from bitreplay.commands._learn import learn
from bitreplay.commands._models import forget, merge, show
from bitreplay.commands._predict import predict
from bitreplay.commands._report import report
from bitreplay.commands._reproduce import reproduce
from bitreplay.commands._run import run
from bitreplay.commands._serve import serve, studio
from bitreplay.commands._train import train

COMMANDS = {
    function.__name__: function
    for function in (
        demo,
        learn,
        predict,
        forget,
        merge,
        show,
        evaluate,
        studio,
        serve,
        run,
        compare,
        reproduce,
        train,
        report,
        export,
        data,
        cache,
    )
}


def _default(value: Any) -> str | None:
    """The default as shown in the help; switches that are off by default are not mentioned."""
    return None if value is None or value is False else str(value)


def make_app() -> App:
    """Put the commands together; its `meta` reads a configuration first. Errors are raised, not printed."""
    app = App(
        name="bitreplay",
        version=f"bitreplay {__version__}",
        default_parameter=Parameter(
            name_transform=str,  # options are named as in Python: --train_accuracy
            consume_multiple=1,  # --seeds 0 1 2
            negative=(),  # no --no-... and --empty-... for every option
            allow_repeating=False,
            show_default=_default,
        ),
        exit_on_error=False,
        print_error=False,
        verbose=False,
        suppress_keyboard_interrupt=False,
        result_action="return_value",
    )
    for place, function in enumerate(COMMANDS.values()):
        app.command(function, sort_key=place)

    app.meta.suppress_keyboard_interrupt = False  # the one setting that it does not take over

    @app.meta.default
    def with_config(
        *words: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
        config: Annotated[Path | None, Parameter(validator=PathCheck(exists=True, dir_okay=False))] = None,
    ) -> Any:
        """Class-incremental learning with a generative binary memory.

        Parameters
        ----------
        words
            A command and its options.
        config
            Read options of a command from this YAML file; options on the command line take precedence.
        """
        if config is not None:
            app.config = (Yaml(config, use_commands_as_keys=False),)
        return app(words)

    return app
