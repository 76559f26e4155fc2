/// An invalid command line.
enum UsageError: Error, Equatable, CustomStringConvertible {
  case unknownOption(String)
  case unknownName(String)
  case missingValue(option: String)
  case badNumber(option: String, given: String)
  case unknownContestant(String, workload: String)

  var description: String {
    switch self {
    case .unknownOption(let option): "unknown option \(option); see 'Benchmark --help'"
    case .unknownName(let name): "unknown workload or target \(name); see 'Benchmark --help'"
    case .missingValue(let option): "\(option) needs a value; see 'Benchmark --help'"
    case .badNumber(let option, let given): "\(option): '\(given)' is not a whole number greater than 0"
    case .unknownContestant(let name, let workload): "--execute: '\(workload)' has no contestant '\(name)'"
    }
  }
}
