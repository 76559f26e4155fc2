import ProcedureKit

/// An assignment of colours to procedures. Procedures whose names begin with the same word, such as "load cat" and "load dog", have the
/// same colour. For the elements of a `map`, the name of the `map` is used instead.
///
/// Only the ``count`` words with the longest execution times have colours of their own. All other procedures share one colour. The colour
/// for a word depends on the other words only if two words would otherwise have the same colour. A procedure with a colour of its own
/// therefore usually has the same colour in the timelines of different recordings.
struct TimelineColours {
  /// The number of colours for procedures. People who are colour-blind could not distinguish more colours.
  static let count = 6
  private static let nameLimit = 40

  /// The number of each word's colour. If there are too many words, only those with the longest execution times have a colour.
  private let numbers: [ByteText: Int]
  /// The name to show for each word. If all names that begin with the word are the same, it is that name. Otherwise, it is the word
  /// followed by "…".
  private let names: [ByteText: String]
  /// The names and styles of the procedures that have a colour, in the order in which the runs began.
  let entries: [(name: String, style: String)]
  /// Whether any runs are drawn in the shared colour, which is used for procedures that have no colour of their own.
  let hasOthers: Bool

  /// Assigns colours to the runs that were executed.
  init(_ runs: [RunRecord]) {
    var times: [ByteText: Duration] = [:]
    var order: [ByteText] = []
    var names: [ByteText: String] = [:]
    for run in runs where !run.executions.isEmpty {
      let word = Self.word(of: run)
      let name = (run.collection ?? run.name).shortened(to: Self.nameLimit)
      if times[word] == nil { order.append(word) }
      times[word, default: .zero] += run.executionTime
      names[word] = names[word].map { $0.hasBytes(of: name) ? name : word.text + " …" } ?? name
    }
    let coloured = times.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(Self.count).map(\.key)
    var numbers: [ByteText: Int] = [:]
    var free = Set(0..<Self.count)
    for word in coloured.sorted() {
      // The hash of the word (FNV-1a, which is the same in every process) selects a number. If that number is taken, the next free one is
      // used.
      let hash = word.text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
      var number = Int(hash % UInt64(Self.count))
      while free.remove(number) == nil { number = (number + 1) % Self.count }
      numbers[word] = number
    }
    (self.numbers, self.names) = (numbers, names)
    entries = order.compactMap { word in numbers[word].map { (names[word] ?? word.text, "c\($0)") } }
    hasOthers = order.count > numbers.count
  }

  /// Returns the name of the style for a run.
  func style(of run: RunRecord) -> String { numbers[Self.word(of: run)].map { "c\($0)" } ?? "other" }

  /// Returns the name for all procedures that have the same colour as a run.
  func name(of run: RunRecord) -> String { names[Self.word(of: run)] ?? run.name.shortened(to: Self.nameLimit) }

  /// Returns the first word of a run's name or, if the run is an element of a `map`, of the `map`'s name.
  static func word(of run: RunRecord) -> ByteText {
    ByteText(String((run.collection ?? run.name).shortened(to: nameLimit).prefix { $0 != " " }))
  }
}
