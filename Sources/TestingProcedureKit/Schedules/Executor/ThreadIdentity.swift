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

/// Tells threads apart, so that a job that comes from outside of an exploration is noticed.
struct ThreadIdentity: Hashable, Sendable {
  private let bits: UInt

  /// The thread that calls.
  static var current: ThreadIdentity {
    #if canImport(WinSDK)
      ThreadIdentity(bits: UInt(GetCurrentThreadId()))
    #elseif canImport(Darwin)
      ThreadIdentity(bits: UInt(bitPattern: pthread_self()))
    #else
      ThreadIdentity(bits: UInt(pthread_self()))
    #endif
  }
}
