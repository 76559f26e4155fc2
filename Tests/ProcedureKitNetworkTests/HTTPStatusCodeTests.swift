import ProcedureKitNetwork
import Testing

@Suite struct HTTPStatusCodeTests {
  @Test(
    "A status code belongs to exactly one class", arguments: [100, 199, 200, 299, 300, 399, 400, 499, 500, 599, 600])
  func classes(_ number: Int) {
    let code = HTTPStatusCode(rawValue: number)
    let classes = [code.isSuccess, code.isRedirection, code.isClientError, code.isServerError]
    #expect(classes == [2, 3, 4, 5].map { number / 100 == $0 })
    #expect("\(code)" == String(number))
  }
}
