import ProcedureKit

/// What can go wrong with a file; each names the file, the reason, and what to do where that is not plain.
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
    case .notAFile(let path): "\(path): is not a regular file, and only those are read"
    case .unreadableFile(let path, let error): "\(path): cannot be read: \(error)"
    case .unreadablePicture(let path, let problem): "\(path): \(problem)"
    case .noPictures(let directory): "\(directory): holds no pictures (*.ppm or *.pnm)"
    case .unwritableDirectory(let path, let error): "\(path): cannot be used as the output directory: \(error)"
    case .unwritableFile(let path, let error): "\(path): cannot be written: \(error)"
    }
  }
}
