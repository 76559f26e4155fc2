public import Foundation
public import ProcedureKit

extension GraphItemsError: LocalizedError {
  /// A sentence that names the graph and lists all its problems, for the authors of the items.
  public var errorDescription: String? { "\(description.prefix(1).uppercased() + description.dropFirst())." }
}
