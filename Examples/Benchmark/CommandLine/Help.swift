extension Arguments {
  /// The output of `--help`.
  static let help = """
    USAGE: Benchmark [OPTION]... [WORKLOAD|TARGET]...

    Measures the cost of a procedure, and compares it with hand-written code (the floor), Foundation's OperationQueue, and
    Dispatch. In every round, each contestant is measured once, in a separate process. Prints medians, half the distance
    between the quartiles in percent, and ratios, which are the medians of the ratios of all rounds. Use a release build:
    swift run -c release Benchmark.

    BARE is hand-written code, or another program, that does the same work and nothing else.

    N1 and N2 load from nginx if it is installed, and otherwise from this program, running in another process. To use
    another server, set the environment variable BENCHMARK_SERVER to its address, such as http://127.0.0.1:8080. It must
    respond to /1 to /10000 with the \(HTTPServer.body.utf8.count) bytes '\(HTTPServer.body)', and to /long/1024 with 1,024 MiB.

    WORKLOADS AND TARGETS. If none are named, all are measured. A target measures only the contestants that it compares:
    \(lines(Workload.all.filter { !$0.isLong }.map { ($0.id, $0.title(units: $0.units)) }))
    \(lines(Target.all.map { ($0.id, $0.description) }))

    OPTIONS:
      --samples N   how many times each contestant is measured (default: 9; at least 9 with --check)
      --units N     the number of units of work, instead of the number that each workload specifies
      --long        also measure P9, which is otherwise measured only if it is named
      --json        print all measurements as JSON
      --check       fail if a target is MISSED; before that, its workload is measured again, up to twice, and
                    the target is judged by all measurements
      --instructions
                    instead of measuring times, count the instructions of some contestants with valgrind
      -h, --help    print this text

    EXIT STATUS: 0; 1 if a target is MISSED and --check was given, or if a contestant returned a wrong result; 2 if the
    arguments are invalid.
    """

  private static func lines(_ entries: [(id: String, text: String)]) -> String {
    entries.map { "  " + $0.id.padding(5) + $0.text }.joined(separator: "\n")
  }
}
