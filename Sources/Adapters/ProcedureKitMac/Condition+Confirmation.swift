#if canImport(AppKit) && os(macOS)
  public import AppKit
  public import ProcedureKit

  extension Condition {
    /// Returns a condition that asks the user, and is satisfied if the user confirms; otherwise, the procedure is ignored.
    ///
    /// The process shows one confirmation at a time; see `Condition.userConfirmation`.
    ///
    /// - Parameters:
    ///   - title: The question.
    ///   - text: The explanation below the question.
    ///   - confirm: The text of the button that confirms.
    ///   - refuse: The text of the button that refuses.
    ///   - window: Returns the window that shows the alert as a sheet. If it returns `nil`, the alert is shown for the whole app, and is
    ///     not closed by a cancellation.
    /// - Returns: The condition.
    public static func confirmation(
      _ title: String, text: String = "", confirm: String = "OK", refuse: String = "Cancel",
      in window: @escaping @MainActor @Sendable () -> NSWindow? = { nil }
    ) -> Condition {
      .userConfirmation(title) { await ask(title, text, [confirm, refuse], window) }
    }
  }

  /// Returns whether the user chose the first button.
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
