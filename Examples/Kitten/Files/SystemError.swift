import Foundation

/// What the operating system said when a call failed.
struct SystemError: Error, Equatable, CustomStringConvertible {
  let code: Int32

  /// The error of the call that failed last on this thread.
  static var latest: SystemError { SystemError(code: errno) }

  init(code: Int32) {
    self.code = code
  }

  /// What the system said to Foundation; an input/output error where Foundation keeps it to itself.
  init(behind error: any Error) {
    let posix = (error as? CocoaError)?.underlying as? POSIXError
    code = posix?.code.rawValue ?? EIO
  }

  var description: String { String(cString: strerror(code)) }
}
