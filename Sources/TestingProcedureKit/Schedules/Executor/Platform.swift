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

/// What the standard library does not offer, and the explorer cannot do without: the only file that imports a platform.
enum Platform {
  /// Tells threads apart, so that a job that comes from outside of an exploration is noticed.
  struct Thread: Hashable, Sendable {
    private let bits: UInt

    /// The thread that calls.
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

  /// The address of an exported variable of the process, or `nil` where there is none of that name.
  static func variable<Value>(named name: String, as type: Value.Type) -> UnsafeMutablePointer<Value>? {
    #if canImport(WinSDK)
      return nil
    #else
      return dlsym(dlopen(nil, RTLD_LAZY), name)?.assumingMemoryBound(to: Value.self)
    #endif
  }
}
