extension Arguments {
  /// The text of `--help`.
  static let help = """
    USAGE: crawler [OPTION]... ADDRESS|FILE...
           crawler --demo [OPTION]...

    Downloads a list of http and https addresses, politely: each to a separate file, a few at a time, with further
    attempts after failures that may pass. An interrupted download resumes where it stopped, if the server allows.
    A file has one address per line; - is standard input, and lines that begin with # are skipped.

    OPTIONS:
      --output DIR        where to write; created if missing, existing files are replaced (default: pages)
      --jobs N            how many downloads run at a time (default: \(Limits().jobs))
      --per-host N        how many of these from one host (default: \(Limits().perHost))
      --rate N            how many requests per second one host gets (default: \(Limits().rate))
      --attempts N        how many times a download is tried (default: \(Limits().attempts))
      --timeout SECONDS   how long an attempt may take (default: \(Limits().timeout))
      --deadline SECONDS  when the program ends, even if downloads are left (default: never)
      --demo              download from a server with faults that the program starts itself, on 127.0.0.1, and check
                          all possible downloads; with 100 requests per second, and 3 seconds for an attempt
      -h, --help          print this

    After nine of ten requests to a host fail, it gets no request for half a minute; missing pages do not count. A host
    that asks for a pause (Retry-After) gets no request until the pause is over, or after ten minutes. A redirect counts for
    the host that it leads to. Addresses are encoded as browsers do: http://müller.example/zürich.

    EXIT STATUS: 0 when all was downloaded, 1 when a download failed, 130 when interrupted by Ctrl-C; no partial file
    is left. The second Ctrl-C ends immediately.
    """
}
