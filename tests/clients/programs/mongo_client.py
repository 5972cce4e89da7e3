"""What programs do with MongoDB; identifiers are their own, so that every run asks the same."""

import sys

sys.path.insert(0, "lib")
import pymongo

with pymongo.MongoClient("127.0.0.1", int(sys.argv[1]), serverSelectionTimeoutMS=20_000) as client:
    orders = client.shop.orders
    print("insert", orders.insert_one({"_id": 1, "item": "pen", "qty": 2}).inserted_id)
    print("insert", orders.insert_many([{"_id": n, "item": f"item {n}", "qty": n} for n in range(2, 8)]).inserted_ids)
    print("find", orders.find_one({"_id": 1}))
    print("find", list(orders.find({"qty": {"$gt": 3}}).sort("_id", -1).batch_size(2)))
    print("update", orders.update_one({"_id": 1}, {"$set": {"qty": 20}}).modified_count)
    print("find", orders.find_one({"_id": 1}))
    print("count", orders.count_documents({}))
    print("delete", orders.delete_many({"qty": {"$gt": 4}}).deleted_count)
    print("find", sorted(order["_id"] for order in orders.find()))
    try:
        orders.insert_one({"_id": 2})
    except pymongo.errors.DuplicateKeyError as error:
        print("duplicate", error.code)
