import Foundation
import ProcedureKit

/// A problem with the files of a task, for example a missing input.
enum TaskProblem: Error, Equatable, CustomStringConvertible {
  case missingInput(SystemText)
  case missingOutput(SystemText)
  case unreadable(SystemText, Int32)
  case unwritable(SystemText, Int32)
  case busy(SystemText)

  var description: String {
    switch self {
    case .missingInput(let path): "the input \(path) is missing"
    case .missingOutput(let path): "the command succeeded, but did not create its output \(path)"
    case .unreadable(let path, EINVAL): "\(path) is neither a file nor a folder"
    case .unreadable(let path, let code): "\(path) could not be read: \(String(cString: strerror(code)))"
    case .unwritable(let path, let code): "\(path) could not be written: \(String(cString: strerror(code)))"
    case .busy(let folder): "another taskrunner is running the same tasks, and has locked \(folder)/lock"
    }
  }
}
