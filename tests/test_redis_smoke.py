"""A real Redis server: it answers, and a dramatiq message goes there and back."""

import queue

import dramatiq
import pytest
import redis
from dramatiq.brokers.redis import RedisBroker


def test_redis_answers_a_ping(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.ping() is True


@pytest.mark.parametrize("turn", ["first", "second"])
def test_each_test_starts_with_an_empty_database(redis_url: str, turn: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("left over by", turn)


def test_a_message_reaches_an_actor_through_a_real_redis(redis_url: str) -> None:
    broker = RedisBroker(url=redis_url, middleware=[])
    heard: queue.SimpleQueue[str] = queue.SimpleQueue()

    @dramatiq.actor(broker=broker, queue_name="smoke")
    def hear(word: str) -> None:
        heard.put(word)

    worker = dramatiq.Worker(broker, worker_threads=1, worker_timeout=100)
    worker.start()
    try:
        hear.send("a step is ready")
        assert heard.get(timeout=30) == "a step is ready"
        broker.join(hear.queue_name, timeout=30_000)
    finally:
        worker.stop()
        broker.close()
