#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// A log handler that writes each message as one line to standard error; see ``ProcedureLogMessage/description``.
///
/// Each line is written by a single call, so lines from several tasks are not mixed. Failed writes are ignored.
public struct StandardErrorLogHandler: ProcedureLogHandler {
  /// Creates the handler.
  public init() {}

  /// Writes the message as one line.
  public func handle(_ message: ProcedureLogMessage) {
    var text = message.description + "\n"
    text.withUTF8 { bytes in
      // This is the only place in the core that names a platform.
      #if canImport(Darwin)
        _ = Darwin.write(2, bytes.baseAddress, bytes.count)
      #elseif canImport(Glibc)
        _ = Glibc.write(2, bytes.baseAddress, bytes.count)
      #elseif canImport(Musl)
        _ = Musl.write(2, bytes.baseAddress, bytes.count)
      #elseif canImport(Android)
        _ = Android.write(2, bytes.baseAddress, bytes.count)
      #else
        print(message)
      #endif
    }
  }
}
