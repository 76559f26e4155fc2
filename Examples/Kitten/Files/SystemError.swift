import Foundation
import ProcedureKitFoundation

/// An error that a system call reported.
struct SystemError: Error, Equatable, CustomStringConvertible {
  let code: Int32

  /// The error from the system call that has just failed on this thread.
  static var latest: SystemError { SystemError(code: errno) }

  init(code: Int32) {
    self.code = code
  }

  /// Creates an error from a `POSIXError`.
  init(_ error: POSIXError) {
    code = error.code.rawValue
  }

  var description: String { String(cString: strerror(code)) }
}
