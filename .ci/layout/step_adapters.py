import re
from lib import *

ADAPTERS = ["Mobile", "Cloud", "CoreData", "Calendar", "Contacts", "Photos", "Health", "Notifications", "Wallet", "Mac"]


def run():
    for name in ADAPTERS:
        target = "ProcedureKit" + name
        move(f"Sources/{target}", f"Sources/Adapters/{target}")
        for p in tracked("Tests/ProjectTests"):
            substitute(p, rf"Sources/{target}(?!\w)", f"Sources/Adapters/{target}", optional=True)
        substitute("Package.swift", rf'(\.target\(\s*name: "{target}",(?:(?!\.target\()(?:.|\n))*?)(\s*)swiftSettings: settings\)',
                   rf'\1 path: "Sources/Adapters/{target}",\2swiftSettings: settings)')
        substitute(".ci/adapters", rf"(?<![\w/]){target}(?!\w)", f"Adapters/{target}")
    format_file("Package.swift")
    format_file("Tests/ProjectTests/ImportsTests.swift")
    text = read(".ci/adapters")
    text = re.sub(r'adapters="(?:[^"])*"', wrapped, text)
    write(".ci/adapters", text)
    replace(".ci/adapters", """  name=$(echo "$folder" | cut -d/ -f2)
""", """  # The module of Sources/Adapters/NAME, Sources/NAME/FOLDER or Tests/NAME.
  name=${folder#*/}
  name=${name#Adapters/}
  name=${name%%/*}
""")
    replace(".ci/versions", """for folder in Sources/*/; do
  # The target in C has no syntax trees.
  [ -n "$(find "$folder" -name '*.swift' -print -quit)" ] || continue
""", """for folder in Sources/*/ Sources/Adapters/*/; do
  [ "$folder" != Sources/Adapters/ ] || continue
  # The target in C has no syntax trees.
  [ -n "$(find "$folder" -name '*.swift' -print -quit)" ] || continue
""")
    replace(".ci/run", "  for catalogue in Sources/*/*.docc; do\n", "  for catalogue in Sources/*/*.docc Sources/Adapters/*/*.docc; do\n    [ -e \"$catalogue\" ] || continue\n")
    commit("Move the adapters for Apple's frameworks to Sources/Adapters", """
The targets and products keep their names. A reader who looks for the library finds
eight folders less in `Sources`; an adapter has a file or two.""")


def wrapped(match):
    words = re.findall(r"[\w/]+", match.group(0))[1:]
    lines, line = [], 'adapters="'
    for word in words:
        if len(line) + len(word) > 148:
            lines.append(line.rstrip())
            line = "  "
        line += word + " "
    return "\n".join(lines + [line.rstrip() + '"'])
