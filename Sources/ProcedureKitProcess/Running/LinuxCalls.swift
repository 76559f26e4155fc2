#if !canImport(Darwin)
  import Foundation

  // Functions of the C library that its Swift module leaves out, since they are not part of POSIX. They take pointers and
  // numbers only, which Swift passes as C does.

  /// Makes a pipe whose ends other programs do not inherit.
  @_silgen_name("pipe2")
  func pipe2(_ ends: UnsafeMutablePointer<Int32>, _ flags: Int32) -> Int32

  /// Lets a program start in a folder.
  @_silgen_name("posix_spawn_file_actions_addchdir_np")
  func addChangeOfFolder(
    _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>, _ path: UnsafePointer<CChar>
  ) -> Int32
#endif
