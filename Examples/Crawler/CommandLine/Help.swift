extension Arguments {
  /// The text of `--help`.
  static let help = """
    USAGE: crawler [OPTION]... ADDRESS|FILE...
           crawler --demo [OPTION]...

    Downloads a list of http and https addresses, politely: each to a file of its own, a few at a time, with further
    attempts after failures that may pass. A download that breaks off goes on where it has stopped, if the server allows.
    A file has one address a line; - is standard input, and lines that begin with # are skipped.

    OPTIONS:
      --output DIR        where to write; created if need be, files there are replaced (default: pages)
      --jobs N            how many downloads go on at once (default: \(Limits().jobs))
      --per-host N        how many of them from one host (default: \(Limits().perHost))
      --rate N            how many requests in a second one host gets (default: \(Limits().rate))
      --attempts N        how often a download is tried (default: \(Limits().attempts))
      --timeout SECONDS   how long an attempt may take (default: \(Limits().timeout))
      --deadline SECONDS  when everything ends, whatever is left (default: never)
      --demo              download from a server with faults that the program starts itself, on 127.0.0.1, and check
                          that what can be had was had; at 100 requests in a second, and 3 seconds for an attempt
      -h, --help          print this

    A host of whose requests nine in ten fail is left alone for half a minute; pages that are missing do not count. A host
    that asks for a pause (Retry-After) gets no request until the pause is over, or ten minutes are. A redirect counts for
    the host that it leads to. Addresses are encoded as browsers do: http://müller.example/zürich.

    EXIT STATUS: 0 when all was downloaded, 1 when anything went wrong, 130 when interrupted by Ctrl-C; no part of a file
    is left. The second Ctrl-C ends at once.
    """
}
