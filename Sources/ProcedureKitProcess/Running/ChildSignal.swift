import Foundation

/// SIGCHLD: the signal that a process receives when one of its child processes ends.
enum ChildSignal {
  /// Restores the default action of the signal if this process ignores the signal, for example because it inherited this setting, and
  /// clears the flag `SA_NOCLDWAIT`. With either setting, the system does not keep exit statuses.
  ///
  /// The default action does nothing, so it does not affect the process in any other way.
  static func keepStatus() {
    var action = sigaction()
    guard sigaction(SIGCHLD, nil, &action) == 0 else { return }
    #if canImport(Glibc) || canImport(Musl)
      let isIgnored = isIgnore(action.__sigaction_handler.sa_handler)
    #elseif canImport(Android)
      let isIgnored = isIgnore(action.sa_handler)
    #else
      let isIgnored = isIgnore(action.__sigaction_u.__sa_handler)
    #endif
    if isIgnored {
      signal(SIGCHLD, SIG_DFL)
    } else if Int(action.sa_flags) & Int(SA_NOCLDWAIT) != 0 {
      action.sa_flags &= ~numericCast(SA_NOCLDWAIT)
      sigaction(SIGCHLD, &action, nil)
    }
  }

  private static func isIgnore(_ handler: (@convention(c) (Int32) -> Void)?) -> Bool {
    unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
