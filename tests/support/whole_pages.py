"""Whole pages: parses pages like a browser, and asserts that they are self-contained."""

from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

VOID = {"meta", "input"}
LOADING = {"img", "link", "iframe", "object", "embed", "image", "base", "source"}


class Page(HTMLParser):
    """A page as a browser reads it: its tags with attributes, and the text of each kind of tag."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.open = []
        self.texts = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def all(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]

    @property
    def ids(self):
        return [attributes["id"] for _, attributes in self.tags if "id" in attributes]

    def text(self, *tags):
        return "".join(data for tag in tags for data in self.texts.get(tag, []))


def assert_whole(text, *, script=False):
    """Assert that a page is well formed, and loads and runs nothing but one `script` of its own.

    Return it parsed.
    """
    parsed = Page(text)
    assert parsed.open == []
    assert not LOADING & {tag for tag, _ in parsed.tags}
    assert parsed.all("script") == ([{}] if script else [])
    for _, attributes in parsed.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
        for name in ("href", "xlink:href"):
            assert attributes.get(name, "#").startswith("#")
        for value in attributes.values():
            assert "url(" not in (value or "").replace("url(#", "")
            assert "http:" not in (value or "")
    style = parsed.text("style")
    assert "url(" not in style.replace("url(#", "")
    assert "@import" not in style
    assert len(parsed.ids) == len(set(parsed.ids))
    policies = [each["content"] for each in parsed.all("meta") if "http-equiv" in each]
    allowed = ""
    if script:
        content = parsed.text("script").encode()
        allowed = f"; script-src 'sha256-{b64encode(sha256(content).digest()).decode()}'"
    assert policies == [f"default-src 'none'; style-src 'unsafe-inline'{allowed}"]
    return parsed
