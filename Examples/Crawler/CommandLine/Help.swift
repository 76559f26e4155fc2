extension Arguments {
  /// The text that `--help` prints.
  static let help = """
    USAGE: crawler [OPTION]... ADDRESS|FILE...
           crawler --demo [OPTION]...

    Downloads a list of http and https addresses politely: each to a separate file, and only a few at a time. Failures that
    may be temporary are retried. If the server allows it, an interrupted download resumes where it stopped.
    A file contains one address per line. - is standard input. Lines that start with # are skipped.

    OPTIONS:
      --output DIR        the folder to write to, which is created if necessary; existing files are replaced (default: pages)
      --jobs N            how many downloads run at a time (default: \(Limits().jobs))
      --per-host N        how many of them can be from the same host (default: \(Limits().perHost))
      --rate N            how many requests per second are sent to one host (default: \(Limits().rate))
      --attempts N        how many times a download is attempted (default: \(Limits().attempts))
      --timeout SECONDS   how long an attempt can take (default: \(Limits().timeout))
      --deadline SECONDS  how long the program can run, even if downloads are unfinished (default: no limit)
      --demo              download from a faulty server, which the program itself starts on 127.0.0.1, and check
                          the results; with up to 100 requests per second, and 3 seconds for each attempt
      -h, --help          print this text

    If nine out of ten requests to a host fail, no requests are sent to it for half a minute; missing pages do not count. If a
    host asks for a pause (Retry-After), no requests are sent to it for that time, but for at most ten minutes. A redirect counts
    towards the host that it leads to. Addresses are encoded as in browsers, for example http://müller.example/zürich.

    EXIT STATUS: 0 if everything was downloaded, 1 if a download failed, 130 if interrupted by Ctrl-C. No partial files are left.
    A second Ctrl-C ends the program immediately.
    """
}
