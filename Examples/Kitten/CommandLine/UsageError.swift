import ProcedureKit

/// An error in the command line.
enum UsageError: Error, Equatable, CustomStringConvertible {
  case unknownOption(String)
  case missingValue(option: String)
  case unexpectedValue(option: String)
  case badNumber(option: String, given: String, range: ClosedRange<Int>)
  case notUTF8(option: String, given: SystemText)
  case emptyInput

  var description: String {
    switch self {
    case .unknownOption(let option):
      "unknown option \(option); see 'kitten --help'. Put '--' before a file name that starts with '-'"
    case .missingValue(let option):
      "\(option) needs a value; see 'kitten --help'"
    case .unexpectedValue(let option):
      "\(option) does not take a value"
    case .badNumber(let option, let given, let range):
      "\(option): '\(given)' is not a whole number from \(range.lowerBound) to \(range.upperBound)"
    case .notUTF8(let option, let given):
      "\(option): '\(given)' is not UTF-8"
    case .emptyInput:
      "an input is an empty string. Specify a file or a directory"
    }
  }
}
