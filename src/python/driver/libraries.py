

def unpacked(text, media):
    """Decodes a picture given as text: base64 as in Jupyter's bundles, or else the text itself."""
    try:
        return text.encode() if media == "image/svg+xml" else binascii.a2b_base64(text)
    except (binascii.Error, ValueError):
        return text.encode()


def drawn(figure):
    """Renders a figure as PNG, in place of `_repr_png_` of matplotlib's figures."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", bbox_inches="tight")
    # Any change of the figure sets it again.
    figure.stale = False
    SESSION.drawn.append(figure)
    return picture.getvalue()


def own_figure(module):
    module.Figure._repr_png_ = drawn


def own_show(module):
    def show(*_arguments, **_options):
        SESSION.show_figures()

    # A function, because matplotlib sets attributes on it.
    module.show = show


def own_display(module):
    module.display = SESSION.display


class Libraries:
    """Module finder that adapts libraries on import, so that they display in the session."""

    after = {
        "matplotlib.figure": own_figure,
        "matplotlib.pyplot": own_show,
        "IPython.core.display_functions": own_display,
    }

    def find_spec(self, name, path=None, target=None):
        adapt = self.after.get(name)
        if adapt is None:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_adapt(module):
                execute(module)
                adapt(module)

            spec.loader.exec_module = execute_and_adapt
        return spec
