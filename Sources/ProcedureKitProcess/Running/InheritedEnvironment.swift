@preconcurrency import Foundation
import ProcedureKit

/// The environment variables of this process, in the form that the system uses.
enum InheritedEnvironment {
  /// The entries, which usually have the form `NAME=VALUE`. Do not read this property while another thread is changing the environment.
  static var entries: [SystemText] {
    #if canImport(Darwin)
      var next = _NSGetEnviron().pointee
    #else
      var next: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = environ
    #endif
    var entries: [SystemText] = []
    while let entry = next?.pointee {
      entries.append(SystemText(cString: entry))
      next = next?.advanced(by: 1)
    }
    return entries
  }
}
