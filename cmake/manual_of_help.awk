# SPDX-License-Identifier: Apache-2.0
# Makes a manual page of what a program's --help prints: "Usage:", paragraphs, options that are
# indented by two spaces with their text from column 29 on, and "Exit status:". What both say is
# written once.
#
#   program --help | awk -v name=imprint-node -v date=2026-11-16 -v version=0.1.0 -f manual_of_help.awk

function roff(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  gsub(/…/, "...", text)
  sub(/^[.']/, "\\\\\\&&", text)
  return text
}

function section(title) {
  if (current != title)
    print ".SH " title
  current = title
}

# The first sentence, which the NAME section must have before anything else is printed.
function print_head(first) {
  summary = first
  sub(/[.:,].*/, "", summary)
  sub(/^The /, "the ", summary)
  print ".TH " roff(toupper(name)) " 8 \"" date "\" \"imprint " version "\" \"Imprint\""
  section("NAME")
  print roff(name) " \\- " roff(summary)
  section("SYNOPSIS")
  print ".B " roff(name)
  print roff(usage)
}

/^Usage: / {
  usage = $0
  sub(/^Usage: [^ ]* /, "", usage)
  next
}

/^$/ {
  is_paragraph = 0
  next
}

/^Exit status: / {
  section("EXIT STATUS")
  sub(/^Exit status: /, "")
  print roff($0)
  is_paragraph = 1
  next
}

/^  --/ {
  section("OPTIONS")
  match($0, /^  --[^ ]+(, --[^ ]+)*/)
  print ".TP\n.B " roff(substr($0, 3, RLENGTH - 2))
  text = substr($0, RLENGTH + 1)
  sub(/^ +/, "", text)
  if (/--help/)
    text = "show what there is, or the version"
  print roff(text)
  next
}

/^   / {
  sub(/^ +/, "")
  print roff($0)
  next
}

{
  if (!summary) {
    print_head($0)
    section("DESCRIPTION")
  } else if (!is_paragraph) {
    print ".PP"
  }
  is_paragraph = 1
  print roff($0)
}

END {
  print ".SH SEE ALSO\n.BR imprint (1)"
}
