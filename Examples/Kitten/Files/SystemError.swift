import Foundation
import ProcedureKitFoundation

/// The error of a failed system call.
struct SystemError: Error, Equatable, CustomStringConvertible {
  let code: Int32

  /// The error of the last failed call on this thread.
  static var latest: SystemError { SystemError(code: errno) }

  init(code: Int32) {
    self.code = code
  }

  /// Creates an error from the error of a call.
  init(_ error: POSIXError) {
    code = error.code.rawValue
  }

  var description: String { String(cString: strerror(code)) }
}
