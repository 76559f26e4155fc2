#if canImport(AppKit) && os(macOS)
  public import AppKit
  public import ProcedureKit

  extension Condition {
    /// Returns a condition that asks the person, and is satisfied if the person confirms; otherwise the procedure is ignored.
    ///
    /// Confirmations of the process come one after the other; see `Condition.userConfirmation`.
    ///
    /// - Parameters:
    ///   - title: The question.
    ///   - text: The explanation below the question.
    ///   - confirm: The text of the button that confirms.
    ///   - refuse: The text of the button that refuses.
    ///   - window: Returns the window that the alert is a sheet of. `nil` shows an alert of the whole program, which a cancel does
    ///     not close.
    /// - Returns: The condition.
    public static func confirmation(
      _ title: String, text: String = "", confirm: String = "OK", refuse: String = "Cancel",
      in window: @escaping @MainActor @Sendable () -> NSWindow? = { nil }
    ) -> Condition {
      .userConfirmation(title) { await ask(title, text, [confirm, refuse], window) }
    }
  }

  /// Returns whether the person has chosen the first button.
  @MainActor private func ask(
    _ title: String, _ text: String, _ buttons: [String], _ window: @MainActor () -> NSWindow?
  ) async -> Bool {
    let alert = NSAlert()
    alert.messageText = title
    alert.informativeText = text
    for button in buttons { alert.addButton(withTitle: button) }
    let answer =
      if let window = window() { await alert.beginSheetModal(for: window) } else { alert.runModal() }
    return answer == .alertFirstButtonReturn
  }
#endif
