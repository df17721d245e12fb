"""Memory in an LCEL chain: retriever, prompt and model, with the user named in the chain's config.

`MemoryRetriever` is a LangChain retriever: it pipes, batches, streams and becomes a tool as any other. `as_context`
fences what it finds as data for the prompt. In a graph, as in ``graph``, which is for `langgraph dev`, the same chain
takes the graph's store, and the user of its run.
"""

from operator import itemgetter
from tempfile import TemporaryDirectory

from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable
from langgraph.graph import START, MessagesState, StateGraph

from langmem_plus import MarkdownStore, MemoryClient, MemoryRetriever
from langmem_plus.providers import QuotingChatModel
from langmem_plus.retriever import as_context

model = QuotingChatModel()  # stands in for init_chat_model("openai:gpt-5-mini"): it only quotes what memory holds
prompt = ChatPromptTemplate.from_messages(
    [("system", "Answer from the notes, and say so where they don't help."), ("human", "{context}\n\n{question}")]
)


def make_chain(retriever: MemoryRetriever) -> Runnable[dict[str, str], str]:
    """Question in, answer out."""
    question = itemgetter("question")
    return {"context": question | retriever | as_context, "question": question} | prompt | model | StrOutputParser()


chain = make_chain(MemoryRetriever(k=5))


def answer(state: MessagesState) -> dict[str, list[tuple[str, str]]]:
    """Answer the last message."""
    return {"messages": [("ai", chain.invoke({"question": state["messages"][-1].text}))]}


graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile()


def main() -> None:
    """Two users ask one chain the same question; then the retriever alone shows what it found."""
    with TemporaryDirectory() as folder, MarkdownStore(folder) as store, MemoryClient(store) as client:
        client.add("My wife is called Anne", user_id="alice")
        client.add("My wife is called Berta", user_id="bob")
        client.flush()
        retriever = MemoryRetriever(store)
        talk = make_chain(retriever)
        asked = {"question": "What is my wife called?"}
        print(talk.invoke(asked, {"configurable": {"user_id": "alice"}}))  # → … Anne …
        print(talk.invoke(asked, {"configurable": {"user_id": "bob"}}))  # → … Berta …
        (found, *_) = retriever.invoke("wife", {"configurable": {"user_id": "bob"}})
        print(found.metadata["role"], found.metadata["user_id"], found.metadata["scores"]["relevance"] > 0.5)
        # → memory bob True


if __name__ == "__main__":
    main()
