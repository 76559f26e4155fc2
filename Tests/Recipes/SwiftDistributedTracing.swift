import ProcedureKit
import Tracing

var configuration = ProcedureQueue.Configuration("jobs", maxConcurrentProcedures: 8)
// `add` executes the body in another task, to which the carrier passes the context of the caller's span.
configuration.contextCarriers = [ContextCarrier(ServiceContext.$current)]
// A span around the body of each procedure, and of each attempt; a failure is recorded in its span.
configuration.interceptor = { context, next in
  try await withSpan(context.name) { span in
    span.attributes["procedure.id"] = "\(context.id)"
    span.attributes["procedure.attempt"] = context.attempt
    try await next()
  }
}
let jobs = ProcedureQueue(configuration)
