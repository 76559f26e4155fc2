import Foundation
import ProcedureKitFoundation

/// What the operating system said when a call failed.
struct SystemError: Error, Equatable, CustomStringConvertible {
  let code: Int32

  /// The error of the call that failed last on this thread.
  static var latest: SystemError { SystemError(code: errno) }

  init(code: Int32) {
    self.code = code
  }

  /// The error of a call.
  init(_ error: POSIXError) {
    code = error.code.rawValue
  }

  var description: String { String(cString: strerror(code)) }
}
