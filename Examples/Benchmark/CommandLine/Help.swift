extension Arguments {
  /// What `--help` prints.
  static let help = """
    USAGE: Benchmark [OPTION]... [WORKLOAD|TARGET]...

    Measures what a procedure costs, beside what a good engineer writes by hand (the floor), Foundation's OperationQueue
    and Dispatch, one after another in every round. Prints medians, half the distance between the quartiles in percent,
    and ratios, which are the medians of the ratios of the rounds. Build it for release: swift run -c release Benchmark.

    BARE is a mechanism by hand that does that work and nothing else. A target may name how many times as much as that is good
    enough where it is missed: it is shown as missed then, and not as MISSED, and --check does not fail for it.

    WORKLOADS AND TARGETS; without any, all are measured. A target measures only what it compares:
    \(lines(Workload.all.filter { !$0.isLong }.map { ($0.id, $0.title(units: $0.units)) }))
    \(lines(Target.all.map { ($0.id, $0.title) }))

    OPTIONS:
      --samples N   how often each is measured (default: 9)
      --units N     how many units of work, instead of each workload's own number
      --long        also P9, unless it is named anyway
      --json        print everything that was measured as JSON
      --check       fail if a target is MISSED; the workload of one that would be is measured again first, up to twice, and
                    the target judged by all that was measured
      -h, --help    print this

    EXIT STATUS: 0; 1 when a target is MISSED and --check was given, or when a contestant came to a wrong result; 2 when
    the arguments are wrong.
    """

  private static func lines(_ entries: [(id: String, text: String)]) -> String {
    entries.map { "  " + $0.id.padding(5) + $0.text }.joined(separator: "\n")
  }
}
