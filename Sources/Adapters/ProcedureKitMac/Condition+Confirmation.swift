#if canImport(AppKit) && os(macOS)
  public import AppKit
  public import ProcedureKit

  extension Condition {
    /// Returns a condition that asks the user for confirmation. If the user declines, the procedure is ignored.
    ///
    /// The app shows only one confirmation at a time; see `Condition.userConfirmation`.
    ///
    /// - Parameters:
    ///   - title: The question.
    ///   - text: The explanation that is shown below the question.
    ///   - confirm: The title of the confirmation button.
    ///   - refuse: The title of the button that declines.
    ///   - window: A closure that returns the window in which the alert is shown as a sheet. If it returns `nil`, the alert is modal for
    ///     the whole app. In both cases, cancellation does not close the alert.
    /// - Returns: The condition.
    public static func confirmation(
      _ title: String, text: String = "", confirm: String = "OK", refuse: String = "Cancel",
      in window: @escaping @MainActor @Sendable () -> NSWindow? = { nil }
    ) -> Condition {
      .userConfirmation(title) { await ask(title, text, [confirm, refuse], window) }
    }
  }

  /// Shows an alert and returns whether the user chose the first button.
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
