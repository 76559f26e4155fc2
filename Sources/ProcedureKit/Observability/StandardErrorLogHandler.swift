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
/// Each line is written by a single call, so lines from several tasks are not mixed. Failed writes are ignored. On systems where the
/// handler cannot import the C library, it prints the lines to standard output instead.
public struct StandardErrorLogHandler: ProcedureLogHandler {
  /// Creates the handler.
  public init() {}

  /// Writes the message as one line.
  public func handle(_ message: ProcedureLogMessage) {
    var text = message.description + "\n"
    text.withUTF8 { bytes in
      // This is the only code in the core that calls the platform's C library.
      #if canImport(Darwin) || canImport(Glibc) || canImport(Musl) || canImport(Android)
        _ = write(2, bytes.baseAddress, bytes.count)
      #else
        print(message)
      #endif
    }
  }
}
