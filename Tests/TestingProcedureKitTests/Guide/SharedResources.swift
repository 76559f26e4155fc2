import ProcedureKit
import Testing
import TestingProcedureKit

private func checkDeposit() throws {}
private func checkMigration() throws {}
private func checkServer() throws {}

// The code of the guide *Testing your procedures*, compiled and run; `ProjectTests` compares the two.
let ports = Resource("ports", capacity: 4)

@Suite("Accounts", .shared("database")) struct AccountTests {
  @Test("A deposit increases the balance")
  func deposit() throws { try checkDeposit() }

  @Test("A migration preserves the accounts", .exclusive("database"))
  func migration() throws { try checkMigration() }

  @Test("The server answers", .units(1, of: ports))
  func server() throws { try checkServer() }
}
