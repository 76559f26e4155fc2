import Foundation
import ProcedureKit
import ProcedureKitFoundation

/// The mode and the options on the command line.
struct Arguments {
  enum Mode {
    case all, worker, coordinator, help
  }

  static let help = """
    usage: temporal [worker | coordinator] [OPTION…]

    Resizes a picture to many sizes. Each resize is called through a Temporal server, and executed by the next free
    worker. Without a command, two workers and a coordinator are started.

      --server HOST:PORT   the server's gRPC address (default: 127.0.0.1:7233)
      --folder FOLDER      the folder for the pictures and the records (default: a new folder)
      --picture FILE       the picture, which is a PPM file (default: the kitten of the examples)
      --job NAME           the name of the job; if the name was used before, existing results are reused (default: a new name)
      --sizes COUNT        the number of sizes (default: 12)
      --pace MILLISECONDS  the minimum duration of a resize (default: 100)
    """

  private(set) var mode = Mode.all
  private(set) var host = "127.0.0.1:7233"
  private(set) var folder = FileManager.default.temporaryDirectory.appending(path: "temporal-\(UUID().uuidString)")
  private(set) var picture = URL(filePath: #filePath).appending(path: "../../../Kitten/Resources/kitten.ppm")
    .standardized
  private(set) var job = UUID().uuidString
  private(set) var sizes = 12
  private(set) var pace = 100

  var connection: TemporalConnection { TemporalConnection(host: host, taskQueue: "kitten") }

  /// The options that are passed on to workers.
  var passedOn: [String] { ["--server", host, "--folder", folder.path, "--pace", "\(pace)"] }

  init(_ words: some Sequence<SystemText>) throws {
    var words = Array(words)[...]
    if let first = words.first, first.bytes.first != UInt8(ascii: "-") {
      words.removeFirst()
      switch first.description {
      case "worker": mode = .worker
      case "coordinator": mode = .coordinator
      default: throw DemoError("unknown command \"\(first)\". The commands are worker and coordinator; see --help")
      }
    }
    while let word = words.popFirst() {
      let (name, given) = word.optionAndValue
      let option = name.description
      if option == "--help" || option == "-h" {
        mode = .help
        return
      }
      guard let bytes = (given ?? words.popFirst())?.expandingHome else {
        throw DemoError("\(option) needs a value; see --help")
      }
      guard let value = bytes.string else { throw DemoError("\(option): \(bytes) is not UTF-8") }
      switch option {
      case "--server": host = value
      case "--folder", "--picture":
        guard let url = bytes.fileURL else {
          throw DemoError("\(option): the path of the current folder is not UTF-8. Pass an absolute path")
        }
        if option == "--folder" { folder = url } else { picture = url }
      case "--job": job = value
      case "--sizes": sizes = try Self.number(value, option, in: 1...1_000)
      case "--pace": pace = try Self.number(value, option, in: 0...60_000)
      default: throw DemoError("unknown option \(option); see --help")
      }
    }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  private static func number(_ text: String, _ option: String, in range: ClosedRange<Int>) throws -> Int {
    guard let number = Int(text), range.contains(number) else {
      throw DemoError(
        "\(option) is \"\(text)\", but must be a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
