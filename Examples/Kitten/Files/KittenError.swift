import ProcedureKit

/// An error that concerns a file. Its message names the file, states the reason, and suggests a remedy unless it is obvious.
enum KittenError: Error, Equatable, CustomStringConvertible {
  case noSuchFile(SystemText)
  case notAFile(SystemText)
  case unreadableFile(SystemText, SystemError)
  case unreadablePicture(SystemText, PPMProblem)
  case noPictures(directory: SystemText)
  case unwritableDirectory(SystemText, SystemError)
  case unwritableFile(SystemText, SystemError)

  var description: String {
    switch self {
    case .noSuchFile(let path): "\(path): no such file"
    case .notAFile(let path): "\(path) is not a regular file"
    case .unreadableFile(let path, let error): "\(path) could not be read: \(error)"
    case .unreadablePicture(let path, let problem): "\(path) \(problem)"
    case .noPictures(let directory): "\(directory) contains no pictures (*.ppm or *.pnm)"
    case .unwritableDirectory(let path, let error): "\(path) could not be used as the output directory: \(error)"
    case .unwritableFile(let path, let error): "\(path) could not be written: \(error)"
    }
  }
}
