#if !canImport(Darwin)
  import Foundation

  // These functions are missing from the Swift module of the C library because they are not part of POSIX. They take only pointers and
  // numbers, which Swift passes in the same way as C.

  /// Creates a pipe. With `O_CLOEXEC`, programs that this process starts do not inherit the ends of the pipe.
  @_silgen_name("pipe2")
  func pipe2(_ ends: UnsafeMutablePointer<Int32>, _ flags: Int32) -> Int32

  /// Adds an action that makes the started program use the given folder as its working directory.
  @_silgen_name("posix_spawn_file_actions_addchdir_np")
  func addChangeOfFolder(
    _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>, _ path: UnsafePointer<CChar>
  ) -> Int32

  #if os(Linux)
    private typealias CloseFrom =
      @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32

    /// The C function that adds an action to close descriptors. It is looked up at run time because musl and older versions of glibc do not
    /// have it.
    private let closeFrom = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map {
      unsafeBitCast($0, to: CloseFrom.self)
    }

    /// Adds an action that closes all descriptors from the given number upwards in the started program. If the C library does not support
    /// such actions, the function does nothing.
    ///
    /// The action also closes descriptors that are not marked as close-on-exec.
    func closeDescriptors(from lowest: Int32, _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>) -> Int32 {
      closeFrom?(actions, lowest) ?? 0
    }

    @_silgen_name("epoll_create1")
    func makeEpoll(_ flags: Int32) -> Int32

    @_silgen_name("epoll_ctl")
    func changeEpoll(_ set: Int32, _ operation: Int32, _ descriptor: Int32, _ event: UnsafeMutableRawPointer?) -> Int32

    @_silgen_name("epoll_wait")
    func awaitEpoll(_ set: Int32, _ events: UnsafeMutableRawPointer?, _ limit: Int32, _ milliseconds: Int32) -> Int32

    @_silgen_name("syscall")
    private func systemCall(_ number: Int, _ first: Int, _ second: Int) -> Int

    /// Returns a descriptor that becomes readable when a process ends. If the system does not support such descriptors, as on Linux before
    /// 5.3, the result is a negative number.
    ///
    /// Programs that this process starts do not inherit the descriptor.
    func processDescriptor(_ id: pid_t) -> Int32 {
      let pidfdOpen = 434  // the same on all architectures
      return Int32(truncatingIfNeeded: systemCall(pidfdOpen, Int(id), 0))
    }
  #endif
#endif
