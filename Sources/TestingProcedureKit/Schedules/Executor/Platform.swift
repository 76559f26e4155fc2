#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(WinSDK)
  import WinSDK
#endif

/// The explorer's needs beyond the standard library. Only this file imports a platform.
enum Platform {
  /// The identity of a thread, for detecting jobs from outside of an exploration.
  struct Thread: Hashable, Sendable {
    private let bits: UInt

    /// The calling thread.
    static var current: Thread {
      #if canImport(WinSDK)
        return Thread(bits: UInt(GetCurrentThreadId()))
      #elseif canImport(Darwin)
        return Thread(bits: UInt(bitPattern: pthread_self()))
      #else
        return Thread(bits: UInt(pthread_self()))
      #endif
    }
  }

  /// Returns the address of an exported variable of the process; `nil` if there is no variable called `name`.
  static func variable<Value>(named name: String, as type: Value.Type) -> UnsafeMutablePointer<Value>? {
    #if canImport(WinSDK)
      return nil
    #else
      return dlsym(dlopen(nil, RTLD_LAZY), name)?.assumingMemoryBound(to: Value.self)
    #endif
  }
}
