"""Search finds sections by names, words and phrases in any script."""

import pytest

from tests.conftest import Tools, ids

NAMES = {
    "cli.md": (
        "# Command line\n\nAll options of the tool are explained on this page.\n\n"
        "## Install\n\nPass `--no-cache` to install without looking at what was downloaded.\n\n"
        "## Clean\n\nRemoves the cache directory, which `UV_CACHE_DIR` may have moved.\n"
    ),
    "errors.md": (
        "# Errors\n\nWhat the tool says when something went wrong, and what to do then.\n\n"
        "## TX-4419\n\nThe transaction timed out; restart the service and try again.\n\n"
        "## TX-4420\n\nThe transaction was refused by the other side of the connection.\n"
    ),
    "settings.md": (
        "# Settings\n\nWhere the tool looks for its settings, and what they are called.\n\n"
        "## Sources\n\nThe table `tool.uv.sources` names an index for one package.\n\n"
        "## Python\n\nVersion 3.12 is the default; `requires-python` can say otherwise.\n"
    ),
    "api.md": (
        "# Interface\n\nThe functions and classes that other programs can use are here.\n\n"
        "## Streams\n\nCall `std::move` before `health.base->getHTTPResponse()` returns.\n"
    ),
}


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("--no-cache", "cli.md#install"),
        ("no-cache", "cli.md#install"),
        ("UV_CACHE_DIR", "cli.md#clean"),
        ("uv_cache_dir", "cli.md#clean"),
        ("TX-4419", "errors.md#tx-4419"),
        ("tx 4420", "errors.md#tx-4420"),
        ("tool.uv.sources", "settings.md#sources"),
        ("uv sources", "settings.md#sources"),
        ("3.12", "settings.md#python"),
        ("requires-python", "settings.md#python"),
        ("std::move", "api.md#streams"),
        ("health.base", "api.md#streams"),
        ("getHTTPResponse", "api.md#streams"),
        ("what does error TX-4419 mean?", "errors.md#tx-4419"),
    ],
)
def test_an_identifier_is_found_whole_and_by_its_parts(tools: Tools, query: str, best: str) -> None:
    assert ids(tools(NAMES).call("search", {"query": query}).text)[0] == best


LANGUAGES = {
    "languages.md": "".join(
        f"# {name}\n\nThe language {name} has a page of its own in this overview of them.\n\n"
        for name in ("C", "C++", "C#", "F#", "Objective-C")
    )
}


@pytest.mark.parametrize("name", ["C", "C++", "C#", "F#", "Objective-C", "c#", "c++"])
def test_languages_that_differ_in_their_signs_only_are_told_apart(tools: Tools, name: str) -> None:
    hit = tools(LANGUAGES).call("search", {"query": name}).data["hits"][0]
    assert hit["heading_path"].lower() == name.lower()


SCRIPTS = {
    "zh.md": "# 说明\n\n本页介绍系统的安装、配置、使用方法、常见问题以及与其他软件的集成方式。\n\n"
    "## 检索\n\n中文关键词召回效果不好，请检查数据库连接与索引设置，然后重新启动服务并再次测试。",
    "ja.md": "# 案内\n\n"
    "東京のデータベースについて説明します。詳しくはサーバーの設定を見てください。",
    "cn.md": "# 城市\n\n东京是日本的首都。上海是中国的城市，人口很多，经济发达，交通便利。",
    "ko.md": "# 안내\n\n"
    "데이터베이스 연결을 확인하십시오. 설정 파일은 서버에 있습니다. 다시 시작하십시오.",
    "mixed.md": "# 编程\n\n使用Python编程时请设置--no-cache选项，并参考API文档中的说明与示例代码。",
    "th.md": "# คู่มือ\n\nโปรดตรวจสอบการเชื่อมต่อฐานข้อมูลของคุณก่อนเริ่มต้นใช้งานระบบใหม่ทุกครั้ง",
    "emoji.md": "# Animals\n\nThe 🐘 never forgets, the 🦊 is quick, and nobody knows why.",
    "ru.md": "# Ключи\n\nКлюч шифрования хранится в файле настроек рядом с программой.",
}


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("召回", "zh.md#检索"),
        ("数据库", "zh.md#检索"),
        ("中文关键词召回", "zh.md#检索"),
        ("东京", "cn.md#城市"),
        ("東京", "ja.md#案内"),
        ("京", None),
        ("海", "cn.md#城市"),
        ("データベース", "ja.md#案内"),
        ("サーバー", "ja.md#案内"),
        ("데이터베이스", "ko.md#안내"),
        ("연결", "ko.md#안내"),
        ("Python", "mixed.md#编程"),
        ("--no-cache", "mixed.md#编程"),
        ("API", "mixed.md#编程"),
        ("编程", "mixed.md#编程"),
        ("ฐานข้อมูล", "th.md#คู่มือ"),
        ("🐘", "emoji.md#animals"),
        ("🦊", "emoji.md#animals"),
        ("ключ", "ru.md#ключи"),
        ("КЛЮЧ", "ru.md#ключи"),
    ],
)
def test_every_script_can_be_searched(tools: Tools, query: str, best: str | None) -> None:
    found = ids(tools(SCRIPTS).call("search", {"query": query}).text)
    assert sorted(found) == ["cn.md#城市", "ja.md#案内"] if best is None else found[0] == best


def test_a_character_that_stands_nowhere_finds_nothing(tools: Tools) -> None:
    assert tools(SCRIPTS).call("search", {"query": "鯨 🐳"}).data["hits"] == []


WORDS = {
    "forms.md": (
        "# Words\n\nThis page begins with a few lines that mean nothing to anybody.\n\n"
        "## One\n\nThe cache is filled when the policies of the company allow it.\n\n"
        "## Two\n\nIn the Überschrift of the naïve résumé stands a café in São Paulo.\n\n"
        "## Three\n\nDe\u0301ja\u0300 vu in decomposed letters: u\u0308ber allen Gipfeln.\n"
    )
}


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("caching", "one"),
        ("cached", "one"),
        ("policy", "one"),
        ("allows", "one"),
        ("überschrift", "two"),
        ("Uberschrift", "two"),
        ("naive", "two"),
        ("resume", "two"),
        ("cafe", "two"),
        ("Sao Paulo", "two"),
        ("u\u0308berschrift", "two"),
        ("déjà", "three"),
        ("deja", "three"),
        ("über", "three"),
    ],
)
def test_word_forms_and_accents_meet(tools: Tools, query: str, best: str) -> None:
    assert ids(tools(WORDS).call("search", {"query": query}).text)[:1] == [f"forms.md#{best}"]


PHRASES = {
    "phrases.md": (
        "# Phrases\n\nNothing on this page is of interest before its second heading.\n\n"
        "## Exact\n\nYou can clear the cache at any time, it will be filled again.\n\n"
        "## Parts\n\nThe cache is clear. Then the clear water ran through the valley.\n\n"
        "## Link\n\nFirst [empty the](https://example.org/some/long/path) basket, then go on.\n\n"
        "## Mixed\n\nThe option 数据 A is old, 数据库 B is what everybody uses these days.\n"
    )
}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('"clear the cache"', ["exact"]),
        ("“clear the cache”", ["exact"]),
        ("„clear the cache“", ["exact"]),
        ("«clear the cache»", ["exact"]),
        ('"empty the basket"', ["link"]),
        ('"cache the clear"', []),
        ('"option 数据 A"', ["mixed"]),
        ('"数据库 B"', ["mixed"]),
        ('"据库"', ["mixed"]),
        ('"option A"', []),
        ('"clear" "cache"', ["exact", "parts"]),
    ],
)
def test_a_query_of_nothing_but_quotes_finds_only_what_holds_them(
    tools: Tools, query: str, found: list[str]
) -> None:
    result = tools(PHRASES).call("search", {"query": query})
    assert sorted(ids(result.text)) == [f"phrases.md#{slug}" for slug in found]
    if not found:
        assert "without the quotes" in result.text


@pytest.mark.parametrize(
    ("query", "holding", "others"),
    [
        ('"the clear water" valley cache time', ["parts"], ["exact"]),
        ('where does "clear the cache" stand: water, valley?', ["exact"], ["parts"]),
        ('"nobody says that" about the cache', [], ["exact", "parts"]),
    ],
)
def test_what_holds_the_quotes_comes_before_what_only_matches_words(
    tools: Tools, query: str, holding: list[str], others: list[str]
) -> None:
    session = tools(PHRASES)
    result = session.call("search", {"query": query})
    before, _, after = result.text.partition("Without the quoted text:")
    assert sorted(ids(before)) == [f"phrases.md#{slug}" for slug in holding]
    assert sorted(ids(after)) == [f"phrases.md#{slug}" for slug in others]
    pages = [
        session.call("search", {"query": query, "limit": 1, "offset": n}).text for n in range(2)
    ]
    assert [ids(page)[0] for page in pages] == ids(result.text)[:2]
    assert ["Without the quoted text:" in page for page in pages] == [not holding, True]


def test_the_section_that_defines_a_name_ranks_above_those_that_use_it(tools: Tools) -> None:
    uses = "Set `UV_CACHE_DIR` to move it. With UV_CACHE_DIR set, UV_CACHE_DIR is used for all."
    found = tools(
        {
            "environment.md": (
                "# Environment\n\nThe variables that the tool looks at, in order of the alphabet."
                "\n\n### UV_CACHE_DIR\n\nThe directory where downloaded files are kept, if not the"
                " default one.\n\n### UV_INDEX\n\nThe index to look packages up in.\n"
            ),
            **{f"{n}.md": f"# Topic {n}\n\n{uses} And this is topic number {n}.\n" for n in "123"},
        }
    ).call("search", {"query": "UV_CACHE_DIR"})
    assert ids(found.text)[0] == "environment.md#uv_cache_dir"


def test_a_definition_ranks_above_a_use_that_repeats_the_name_and_its_words(tools: Tools) -> None:
    found = tools(
        {
            "variables.md": (
                "# Variables\n\n## LOADER_CACHE_DIR\n\nThe folder that downloaded parts are kept"
                " in. The default lies in the home folder.\n\n## LOADER_LOG_LEVEL\n\n"
                "How much is logged.\n"
            ),
            "pipeline.md": (
                "# Pipeline\n\nThe job sets `LOADER_CACHE_DIR` to a folder that outlives it, prints"
                " `LOADER_CACHE_DIR`, and clears `LOADER_CACHE_DIR` at the end of the week. The"
                " loader has a cache in a dir of its own.\n"
            ),
            **{
                f"{n}.md": f"# Other {n}\n\nA page about something else, number {n}.\n"
                for n in "12345"
            },
        }
    ).call("search", {"query": "LOADER_CACHE_DIR"})
    assert ids(found.text)[0] == "variables.md#loader_cache_dir"


def test_what_a_document_says_of_itself_finds_its_first_section(tools: Tools) -> None:
    session = tools(
        {
            "a/odd-name.md": (
                "---\ntitle: Zebra keeping\ndescription: All about stripes\n"
                "tags: [savanna, hooves]\n---\n\nThe text itself speaks of other things entirely."
            ),
            "b.md": "# Other\n\nThis document is about nothing that anybody would look for.\n",
        }
    )
    for query in ("zebra", "stripes", "savanna", "hooves", "odd name"):
        assert ids(session.call("search", {"query": query}).text)[0] == "a/odd-name.md#top"


def test_sections_with_the_same_text_are_one_hit_that_names_the_others(tools: Tools) -> None:
    note = "Restart the service after every change of the configuration file.\n"
    news = "# Version {n}\n\nWhat is new in version number {n}.\n\n## Note\n\n"
    session = tools({f"v{n}/page.md": news.format(n=n) + note for n in range(5)})
    result = session.call("search", {"query": "restart the service"})
    first = result.data["hits"][0]
    assert first["id"] == "v0/page.md#note"
    assert first["copies"] == [f"v{n}/page.md#note" for n in range(1, 5)]
    assert "   same text: v1/page.md#note, v2/page.md#note and 2 more" in result.text
    within = session.call("search", {"query": "restart the service", "paths": ["v3", "v4"]})
    assert within.data["hits"][0]["id"] == "v3/page.md#note"
    assert within.data["hits"][0]["copies"] == ["v4/page.md#note"]
