import Foundation
import ProcedureKitFoundation

/// The error of a failed system call.
struct SystemError: Error, Equatable, CustomStringConvertible {
  let code: Int32

  /// The error of the system call that has just failed on this thread.
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
