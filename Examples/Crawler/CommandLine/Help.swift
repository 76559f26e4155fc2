extension Arguments {
  /// The text of `--help`.
  static let help = """
    USAGE: crawler [OPTION]... ADDRESS|FILE...
           crawler --demo

    Downloads a list of http and https addresses, politely. A file has one address a line; - is standard input, and
    lines that begin with # are skipped.

    OPTIONS:
      --jobs N       how many downloads go on at once (default: \(Limits().jobs))
      --per-host N   how many of them from one host (default: \(Limits().perHost))
      --attempts N   how often a download is tried (default: \(Limits().attempts))
      --demo         download from a server with faults that the program starts itself, on 127.0.0.1
      -h, --help     print this

    EXIT STATUS: 0 when all was downloaded, 1 when anything went wrong, 130 when interrupted by Ctrl-C.
    """
}
